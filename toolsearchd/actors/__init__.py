"""Who waits for what? One task and one owned state each."""
