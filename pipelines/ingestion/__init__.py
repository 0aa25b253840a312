"""What is done to an incoming message before it is stored."""
