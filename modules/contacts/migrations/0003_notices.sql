-- wharf: phase=expand

-- Whether a contact is told of shipments by mail (spec 07 section 16.3).
ALTER TABLE contacts.contact ADD COLUMN notifications jsonb NOT NULL
    DEFAULT '{"opted_out_at": null, "bounced_at": null, "bounce": null}';
