"""Redis, the courier: wiping it delays work by seconds and loses nothing."""
