"""``make check-docs``: the site of the pages, in a browser."""
