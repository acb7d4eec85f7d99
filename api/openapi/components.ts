import { type TSchema, Type } from '@sinclair/typebox'
import { ERRORS } from '#shared/errors.ts'
import { AccountObject } from '../accounts/model.ts'
import { PaymentLinkObject, PriceObject, ProductObject } from '../catalog/model.ts'
import { CheckoutInfoObject } from '../checkout/model.ts'
import { RenewalObject } from '../checkout/renewal-model.ts'
import {
  PaymentEventData,
  ReminderEventData,
  SubscriptionEventData,
  TestEventData,
  UnequalPaymentEventData,
} from '../event-data.ts'
import { EventObject } from '../events/model.ts'
import { Metadata } from '../fields.ts'
import { NetworkObject } from '../networks/routes.ts'
import { OriginObject } from '../origins/routes.ts'
import { BrandingObject, PaymentObject } from '../payments/model.ts'
import { SessionObject } from '../sessions/model.ts'
import { KeyObject, StoreObject } from '../store-object.ts'
import { SinglePaymentObject, StorePaymentObject, TraceObject } from '../store-payments/model.ts'
import { SubscriptionObject } from '../subscriptions/model.ts'
import { TransferObject } from '../transfer-object.ts'
import { WalletObject } from '../wallets/model.ts'
import { DeliveryObject, WebhookObject } from '../webhooks/model.ts'
import { oneOf } from '../words.ts'

/** The one shape of every refusal (contract section 1). */
export const ErrorObject = Type.Object({
  error: Type.Object({
    code: oneOf(Object.keys(ERRORS)),
    message: Type.String({ description: 'Says what to do about it; for people.' }),
    param: Type.Optional(
      Type.String({ description: 'The field at fault: a JSON path with dots, or a header.' }),
    ),
    requestId: Type.String(),
  }),
})

/** The objects that have a name in the document. */
export const COMPONENTS: Readonly<Record<string, TSchema>> = {
  Account: AccountObject,
  Branding: BrandingObject,
  CheckoutInfo: CheckoutInfoObject,
  Delivery: DeliveryObject,
  Error: ErrorObject,
  Event: EventObject,
  Key: KeyObject,
  Metadata,
  Network: NetworkObject,
  Origin: OriginObject,
  Payment: PaymentObject,
  PaymentEventData,
  PaymentLink: PaymentLinkObject,
  Price: PriceObject,
  Product: ProductObject,
  ReminderEventData,
  Renewal: RenewalObject,
  Session: SessionObject,
  Store: StoreObject,
  StorePayment: StorePaymentObject,
  StorePaymentWithTransfers: SinglePaymentObject,
  Subscription: SubscriptionObject,
  SubscriptionEventData,
  TestEventData,
  Trace: TraceObject,
  Transfer: TransferObject,
  UnequalPaymentEventData,
  Wallet: WalletObject,
  Webhook: WebhookObject,
}
