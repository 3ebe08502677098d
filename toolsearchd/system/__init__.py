"""The ground floor of the rim: what does the kernel say, and what may be asked of it? Knows no other room."""
