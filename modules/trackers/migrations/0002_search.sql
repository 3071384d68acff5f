-- wharf: phase=expand
-- Searches fold accents, as those of other lists.

CREATE INDEX tracker_search_text ON trackers.tracker USING gin (wharf.fold(search_text) public.gin_trgm_ops);
DROP INDEX trackers.tracker_search;
