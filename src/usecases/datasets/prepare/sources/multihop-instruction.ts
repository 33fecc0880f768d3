/** What is asked of a model that answers questions over several documents: Agent-R1's tags, which its scorers read. */
export const MULTIHOP_INSTRUCTION =
  'Think first, between <think> and </think>. You may use the tools you are given. Then give the final answer between <answer> and </answer>, short and without explanation.';
