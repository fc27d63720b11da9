"""S3: the failure bucket."""
