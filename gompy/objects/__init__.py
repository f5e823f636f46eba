"""What is in the files of the pipeline: section names, LTO streams, options, tables, images."""
