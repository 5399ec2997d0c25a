with source as (
    select * from {{ source('raw', 'chunks') }}
),

stg_chunks as (
    select
        chunk_id,
        path,
        n_rows,
        landed_at
    from source
)

select * from stg_chunks
