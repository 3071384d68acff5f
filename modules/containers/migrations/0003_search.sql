-- wharf: phase=expand
-- Searches fold accents, as those of other lists.

CREATE INDEX container_found_by_number ON containers.container USING gin (wharf.fold(tracking_number) public.gin_trgm_ops);
CREATE INDEX container_found_by_name ON containers.container USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX container_found_by_metadata ON containers.container USING gin (wharf.fold(metadata_text) public.gin_trgm_ops);
DROP INDEX containers.container_search_tracking_number;
DROP INDEX containers.container_search_name;
DROP INDEX containers.container_search_metadata_text;
