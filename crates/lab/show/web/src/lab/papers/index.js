// The five papers of the tours.

import ackLoss from "./ack-loss.js";
import fairness from "./fairness.js";
import shake from "./shake.js";
import socps from "./socps.js";
import handover from "./tfrc-handover.js";

export const PAPERS = [ackLoss, fairness, socps, shake, handover];
