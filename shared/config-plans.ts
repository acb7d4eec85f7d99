/** What an account may be on, least first. */
export const PLANS = ['FREE', 'STARTER', 'GROWTH', 'SCALE'] as const
export type Plan = (typeof PLANS)[number]

/** Whole USD an account may receive in a calendar month in live mode; null is without limit. */
export type PlanCapsUsd = { readonly [P in Plan]: number | null }

export const PLAN_CAPS_USD: PlanCapsUsd = {
  FREE: 2_000,
  STARTER: 20_000,
  GROWTH: 200_000,
  SCALE: null,
}

/** Whole USD. In cents it stays far below 2^53. */
const CAP_USD_MAX = 1_000_000_000_000

/**
 * The ceilings with a parsed `PLANS_FILE` over them, for example `{"FREE": 5000, "SCALE": null}`.
 * What is wrong with it goes to `report`, a line for each plan.
 */
export function overlayPlanCaps(file: unknown, report: (fault: string) => void): PlanCapsUsd {
  if (file === undefined) return PLAN_CAPS_USD
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    report(`should hold an object with any of ${PLANS.join(', ')}`)
    return PLAN_CAPS_USD
  }
  const caps: { [P in Plan]: number | null } = { ...PLAN_CAPS_USD }
  for (const [key, cap] of Object.entries(file)) {
    const plan = PLANS.find((name) => name === key)
    if (plan === undefined) report(`${key} should be left out: the plans are ${PLANS.join(', ')}`)
    else if (cap === null || (Number.isSafeInteger(cap) && cap >= 0 && cap <= CAP_USD_MAX)) {
      caps[plan] = cap
    } else report(`${key} should be whole USD from 0 to ${CAP_USD_MAX}, or null for no limit`)
  }
  return caps
}
