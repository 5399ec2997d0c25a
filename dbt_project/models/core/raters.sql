with raters as (
    select
        rater_id,
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
        settings_hash,
        is_active
    from {{ ref('stg_raters') }}
)

select * from raters
