"""The stores, as the pipeline's stages see them; `aws` implements them. Every method may raise the store's errors."""
