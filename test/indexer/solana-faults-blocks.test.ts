import { playFaults } from '../support/solana-faults.ts'

playFaults('blocks')
