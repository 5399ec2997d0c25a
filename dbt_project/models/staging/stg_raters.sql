with source as (
    select * from {{ source('raw', 'raters') }}
),

stg_raters as (
    select
        rater_id,
        settings_hash,
        task,
        model,
        revision,
        family,
        condition,
        persona,
        strategy,
        n_shots,
        exemplar_dataset,
        exemplar_seed,
        temperature,
        option_rotation,
        engine,
        template_version,
        settings,
        is_active
    from source
)

select * from stg_raters
