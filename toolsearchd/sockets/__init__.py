"""Which sockets do we serve, and who holds their directory?"""
