-- wharf: phase=expand

-- Notes that a contact wants no mails about shipments, or that its address was refused (spec 07
-- section 16.3).
ALTER TABLE contacts.contact ADD COLUMN notifications jsonb NOT NULL
    DEFAULT '{"opted_out_at": null, "bounced_at": null, "bounce": null}';
