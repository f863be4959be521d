"""The seed papers' evaluations, table by table: `make paper` measures what is missing and writes `docs/paper.md`."""
