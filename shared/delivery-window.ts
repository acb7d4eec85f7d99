/**
 * Hours during which a delivery is attempted (spec section 6): from its event on, or from when it was made due anew. Then
 * it is dead.
 */
export const DELIVERY_WINDOW_HOURS = 72
