"""What do an agent and the daemon say to each other? Sans-IO: bytes in, events out."""
