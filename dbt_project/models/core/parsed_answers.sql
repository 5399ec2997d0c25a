{{ config(materialized='incremental', incremental_strategy='append', on_schema_change='append_new_columns') }}

{%- set version = parser_version() %}

with new_attempts as (
    select
        attempts.attempt_id,
        attempts.scheme_hash,
        attempts.kind,
        attempts.error_kind,
        attempts.error_type,
        attempts.finish_reason,
        coalesce(attempts.text, '') as said,
        attempts.finish_reason = 'length' as is_cut
    from {{ ref('attempts') }} as attempts
    {%- if is_incremental() %}
    anti join {{ this }} as known
        on
            attempts.attempt_id = known.attempt_id
            and attempts.scheme_hash = known.scheme_hash
            and known.parser_version = '{{ version }}'
    {%- endif %}
),

-- many attempts say the same few words: each is parsed once
texts as (
    select distinct
        scheme_hash,
        kind,
        said,
        is_cut
    from new_attempts
    where error_kind is null and finish_reason <> 'not_recorded'
),

text_schemes as (
    select
        texts.*,
        schemes.synonyms,
        schemes.options,
        case texts.kind when 'score' then schemes.lowest when 'discrimination' then -1 end as lowest,
        case texts.kind when 'score' then schemes.highest when 'discrimination' then 1 end as highest
    from texts
    inner join {{ ref('response_schemes') }} as schemes using (scheme_hash)
),

parsed_texts as (
    {{ parse_answers('text_schemes') }}
),

-- distinct, because an attempt that landed twice in one batch must not count twice
parsed_answers as (
    select distinct
        attempt_id,
        '{{ version }}' as parser_version,
        scheme_hash,
        kind,
        case
            when error_kind is not null then 'error'
            when finish_reason = 'not_recorded' then 'not_recorded'
            else parsed_texts.status
        end as status,
        case when error_kind is null then parsed_texts.status_reason else error_type end as status_reason,
        parsed_texts.answer,
        parsed_texts.parser_rule,
        coalesce(parsed_texts.is_truncated, false) as is_truncated,
        coalesce(parsed_texts.is_reasoning_stripped, false) as is_reasoning_stripped
    from new_attempts
    left join parsed_texts using (scheme_hash, kind, said, is_cut)
)

select * from parsed_answers
