"""What the person on call asks: why is there no answer, and is the installation well?"""
