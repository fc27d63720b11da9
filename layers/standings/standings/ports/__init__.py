"""The stores, as the pipeline's stages see them; `aws` implements them.

Every method raises StoreUnavailableError if the store cannot answer now, StoreRefusedError if it never will.
"""
