"""Keep users: their import from a roster, their teams, accounts and sign-in."""
