"""What does a person ask the daemon? A verb a file."""
