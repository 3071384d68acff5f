-- wharf: phase=expand
-- The lines of an event's data that not everybody sees who sees the event, with where each is
-- (spec 07 section 4.2); NULL: nothing.
ALTER TABLE wharf.event ADD COLUMN parts json;
ALTER TABLE wharf.event ALTER COLUMN parts SET STATISTICS 0; -- as data: nobody filters by it
