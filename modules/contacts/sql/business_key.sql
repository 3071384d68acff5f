-- wharf: order=first
-- Returns what businesses are found by: the letters of a name without accents and case, without
-- what stands between them, and without legal forms. Names that differ only so have the same key;
-- whether they mean the same is judged behind it (legal_forms.c), so a key may take too much off.
-- Indexes stand on it: a change of it needs them made anew.
CREATE OR REPLACE FUNCTION contacts.business_key(business text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    words text := regexp_replace(normalize(business, NFKD),
        '[\u0300-\u036f\u3099\u309a''`\u00b4\u2018-\u201b\u2032]', '', 'g');
    name text;
BEGIN
    -- lower() of PostgreSQL knows the letters of its locale only
    words := translate(wharf.fold(normalize(words, NFKC)),
        'АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯІЄҐЂЈЉЊЋЏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩς',
        'абвгдежзиклмнопрстуфхцчшщъыьэюяієґђјљњћџαβγδεζηθικλμνξοπρστυφχψωσ');
    words := ' ' || btrim(regexp_replace(words,
        '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2010-\u205e\u3000-\u3003'
        '\u3008-\u301f\u30fb]+', ' ', 'g'));
    -- forms that are words, wherever they stand; at the end also letters that spell one
    name := regexp_replace(words,
        ' (incorporated|inc|llc|limited|ltda|ltd|lda|ltee|corporation|corp|company|co|gesmbh|gmbh'
        '|mbh|kgaa|ag|kg|ohg|ug|bvba|bv|nv|sasu|sas|sarl|eurl|sprl|srls|srl|sa|sl|spa|ab|oyj|oy'
        '|asa|aps|as|pty|pte|pvt|plc|pllc|llp|lp|pc|kk|sro|spzoo|zoo|dooel|doo|eood|ood|sdn|bhd'
        '|kft|zrt|nyrt|pjsc|ojsc|jsc|ooo|oao|zao|pao|sia|uab|ооо|оао|зао|пао|ао|тов)(?= |$)',
        '', 'g');
    name := regexp_replace(name,
        '( (s de|de|and|und|et|e|y|i ?n ?c|l ?l ?c|l ?t ?d ?a|l ?t ?d|l ?d ?a|l ?t ?e ?e'
        '|c ?o ?r ?p|c ?o|g ?m ?b ?h|m ?b ?h|k ?g ?a ?a|a ?g|k ?g|o ?h ?g|u ?g|b ?v ?b ?a|b ?v'
        '|n ?v|s ?a ?s ?u|s ?a ?s|s ?a ?r ?l|e ?u ?r ?l|s ?p ?r ?l|s ?r ?l ?s|s ?r ?l|s ?a|s ?l'
        '|s ?p ?a|a ?b|o ?y ?j|o ?y|a ?s ?a|a ?p ?s|a ?s|p ?t ?y|p ?t ?e|p ?v ?t|p ?l ?c'
        '|p ?l ?l ?c|l ?l ?p|l ?p|p ?c|k ?k|s ?r ?o|s ?p ?z ?o ?o|z ?o ?o|d ?o ?o ?e ?l|d ?o ?o'
        '|e ?o ?o ?d|o ?o ?d|s ?d ?n|b ?h ?d|k ?f ?t|z ?r ?t|n ?y ?r ?t|p ?j ?s ?c|o ?j ?s ?c'
        '|j ?s ?c|o ?o ?o|o ?a ?o|z ?a ?o|p ?a ?o|s ?i ?a|u ?a ?b|о ?о ?о|о ?а ?о|з ?а ?о'
        '|п ?а ?о|а ?о|т ?о ?в|s ?p|s ?p ?o ?l|c ?v|r ?l|s ?a ?p ?i|s ?a ?b|s ?c ?s|s ?c ?a'
        '|s ?n ?c|s ?c|s ?e|e ?v|e ?g|v ?o ?f|h ?b|k ?b|k ?s|i ?s|h ?f|e ?h ?f|o ?u|r ?t|b ?t'
        '|k ?y|a ?d|d ?d|t ?b ?k|α ?ε|ε ?π ?ε|ο ?ε))+$', '');
    name := regexp_replace(name,
        '^( ?(株式会社|有限会社|合同会社|合資会社|合名会社|株|有|股份有限公司|有限责任公司|有限責任公司|有限公司|주식회사|유한회사|주))+', '');
    name := regexp_replace(name,
        '( ?(株式会社|有限会社|合同会社|合資会社|合名会社|株|有|股份有限公司|有限责任公司|有限責任公司|有限公司|주식회사|유한회사|주))+$', '');
    name := replace(regexp_replace(name, '^ (s ?c|pt) ', ''), ' ', '');
    RETURN CASE WHEN name = '' THEN replace(words, ' ', '') ELSE name END;
END
$$;
