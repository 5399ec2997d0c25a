with source as (
    select * from {{ source('raw', 'loads') }}
),

stg_loads as (
    select
        load_id,
        kind,
        name,
        fingerprint,
        n_rows,
        loaded_at,
        is_current
    from source
)

select * from stg_loads
