with source as (
    select * from {{ source('raw', 'prompts') }}
),

stg_prompts as (
    select
        prompt_hash,
        messages
    from source
)

select * from stg_prompts
