"""The recipe that fuzzes frameworks: models as inputs, backends as target."""
