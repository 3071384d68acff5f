-- wharf: phase=expand
-- What of an event's data not everybody sees who sees the event, with where each line is
-- (spec 07 section 4.2); NULL: nothing.
ALTER TABLE wharf.event ADD COLUMN parts json;
