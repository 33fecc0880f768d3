import { defineConfig } from 'vitepress';

const page = (text: string, link: string) => ({ text, link });

export default defineConfig({
  title: 'Espalier',
  description: 'An event-sourced research data platform for reinforcement learning of language agents',
  outDir: '../.espalier/site',
  cacheDir: '../.espalier/site-cache',
  ignoreDeadLinks: [/\.\.\/(README|ARCHITECTURE|CONTRIBUTING|examples|src|graphql)\b/], // files of the repository, outside the site
  themeConfig: {
    search: { provider: 'local' },
    sidebar: [
      {
        text: 'Tutorials',
        items: [
          page('First run', '/tutorials/first-run'),
          page('Your own environment', '/tutorials/your-own-environment'),
          page('Record your own agent', '/tutorials/record-your-own-agent'),
          page('Bring your own trainer', '/tutorials/bring-your-own-trainer'),
          page('Notebooks', '/tutorials/notebooks'),
        ],
      },
      {
        text: 'Guides',
        items: [
          page('The studio', '/guides/studio'),
          page('What happened in my run?', '/guides/what-happened'),
          page('Review', '/guides/review'),
          page('Capture an agent', '/guides/capture'),
          page('Command line', '/guides/command-line'),
          page('Record from Python', '/guides/record-from-python'),
          page('Search and revise', '/guides/search-and-revise'),
          page('History as images', '/guides/history-as-images'),
          page('Run experiments', '/guides/experiments'),
          page('Train', '/guides/train'),
          page('Train on GPUs', '/guides/train-on-gpus'),
          page('Train with verl', '/guides/train-with-verl'),
          page('Train with TRL', '/guides/train-with-trl'),
          page('Tools and rewards', '/guides/tools-and-rewards'),
          page('Export', '/guides/export'),
          page('Analyse in Python', '/guides/analyse-in-python'),
          page('Published data sets', '/guides/published-data-sets'),
          page('GraphQL', '/guides/graphql'),
          page('Cluster', '/guides/cluster'),
          page('Replay and verify', '/guides/replay-and-verify'),
          page('Quarantine', '/guides/quarantine'),
          page('Keys and projects', '/guides/keys-and-projects'),
          page('Secrets by name', '/guides/secrets'),
          page('Forget', '/guides/forget'),
          page('Weights & Biases, MLflow, Trackio, TensorBoard', '/guides/sinks'),
          page('One of each of your own', '/guides/add-your-own'),
          page('Add an environment', '/guides/add-an-environment'),
          page('Add an environment in Python', '/guides/add-an-environment-in-python'),
          page('A view of your own environment', '/guides/environment-views'),
          page('Published environments', '/guides/published-environments'),
          page('Add a projection', '/guides/add-a-projection'),
          page('Add an event', '/guides/add-an-event'),
        ],
      },
      {
        text: 'Concepts',
        items: [
          page('Log and projections', '/concepts/log-and-projections'),
          page('Exactly-once', '/concepts/exactly-once'),
          page('Leases and ledger', '/concepts/leases-and-ledger'),
          page('As of a moment', '/concepts/as-of'),
          page('Identity', '/concepts/identity'),
          page('Threat model', '/concepts/threat-model'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Reference', '/reference/index'),
          page('Command line', '/reference/cli'),
          page('Declarations of training', '/reference/declaration'),
          page('Declarations of experiments', '/reference/experiment'),
          page('Environments', '/reference/environments'),
          page('Events', '/reference/events'),
          page('GraphQL', '/reference/graphql'),
          page('HTTP', '/reference/http'),
          page('Configuration', '/reference/configuration'),
        ],
      },
      {
        text: 'Evidence',
        items: [
          page('Benchmarks', '/evidence/benchmarks'),
          page('Conformance', '/evidence/conformance'),
          page('Crashes', '/evidence/crashes'),
          page('Formats and their readers', '/evidence/formats'),
          page('Hostile input', '/evidence/hostile-input'),
        ],
      },
      { text: 'Decisions', items: [page('Records', '/decisions/README')] },
    ],
  },
});
