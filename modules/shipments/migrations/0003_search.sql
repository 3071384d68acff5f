-- wharf: phase=expand
-- Searches fold accents, as those of other lists.

CREATE INDEX shipment_search_text ON shipments.shipment USING gin (wharf.fold(search_text) public.gin_trgm_ops);
DROP INDEX shipments.shipment_search;
