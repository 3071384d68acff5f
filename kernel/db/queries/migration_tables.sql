-- Makes the tables of what was applied, when they are not there.
CREATE SCHEMA IF NOT EXISTS wharf;
CREATE TABLE IF NOT EXISTS wharf.migration (
    plugin text COLLATE "C" NOT NULL, number integer NOT NULL, name text NOT NULL,
    sha256 text NOT NULL, applied_at timestamptz(3) NOT NULL DEFAULT now(),
    server text NOT NULL, seconds numeric(12,3) NOT NULL, PRIMARY KEY (plugin, number)
);
CREATE TABLE IF NOT EXISTS wharf.repeatable (
    plugin text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, sha256 text NOT NULL,
    applied_at timestamptz(3) NOT NULL DEFAULT now(), server text NOT NULL,
    seconds numeric(12,3) NOT NULL, PRIMARY KEY (plugin, name)
)
