"""How commands speak: errors for people, text that any terminal can take. Imports no other room."""
