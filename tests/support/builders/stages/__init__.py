"""One stage of the pipeline, or all of them, in this process."""
