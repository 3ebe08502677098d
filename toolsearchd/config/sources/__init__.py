"""Which servers does a client's own config name? One file per client format."""
