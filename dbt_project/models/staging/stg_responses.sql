with source as (
    select * from {{ source('raw', 'responses') }}
),

stg_responses as (
    select
        attempt_id,
        request_id,
        attempt,
        rater_id,
        dataset,
        item_id,
        replicate,
        settings_hash,
        content_hash,
        prompt_hash,
        text,
        finish_reason,
        error_kind,
        error_type,
        error_message,
        prompt_tokens,
        completion_tokens,
        latency_seconds,
        option_logprobs,
        exemplar_ids,
        engine,
        engine_version,
        engine_flags,
        finished_at,
        chunk_id
    from source
)

select * from stg_responses
