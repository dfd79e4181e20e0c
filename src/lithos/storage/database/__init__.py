"""SQLite and PostgreSQL behind one `Database`: transactions, group commit, migrations."""
