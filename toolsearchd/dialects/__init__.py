"""…in whose words? The dialects of other systems are guests here, each in a module or folder of its own."""
