"""A campaign's defects in the formats of continuous integration: one file a format, and what all of them tell."""
