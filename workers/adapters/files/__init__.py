"""Files in a folder or an S3 bucket, and the signed links under which they are read."""
