// An MCP server on standard input and output, for tests: it counts letters.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { PingRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const server = new McpServer({ name: 'letters', version: '3' });
server.registerTool(
  'count_letter',
  {
    description: 'Counts how often a letter occurs in a word.',
    inputSchema: { word: z.string(), letter: z.string().describe('One letter') },
  },
  async ({ word, letter }) => ({ content: [{ type: 'text', text: String(word.split(letter).length - 1) }] }),
);
server.registerTool('fail', { description: 'Fails.', inputSchema: {} }, async () => ({
  content: [{ type: 'text', text: 'it failed' }],
  isError: true,
}));
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgZGIGAAAOAAfXb+R4AAAAAElFTkSuQmCC';
server.registerTool('draw', { description: 'Draws a dot.', inputSchema: {} }, async () => ({
  content: [
    { type: 'text', text: 'a dot' },
    { type: 'image', data: DOT, mimeType: 'image/png' },
  ],
}));
server.registerTool('leave', { description: 'Ends the server.', inputSchema: {} }, async () => process.exit(3));
server.registerTool('think', { description: 'Takes a while.', inputSchema: {} }, () => new Promise(() => {}));
server.registerTool('hang', { description: 'Answers nothing any more.', inputSchema: {} }, () => {
  for (;;);
});
server.registerTool('compute', { description: 'Answers nothing for a second.', inputSchema: {} }, () => {
  const began = Date.now();
  while (Date.now() - began < 1_000);
  return { content: [] };
});
let pings = 0;
server.server.setRequestHandler(PingRequestSchema, () => {
  pings++;
  return {};
});
server.registerTool('pings', { description: 'Returns how often it was pinged.', inputSchema: {} }, async () => ({
  content: [{ type: 'text', text: String(pings) }],
}));
server.registerTool('pid', { description: 'Returns its process.', inputSchema: {} }, async () => ({
  content: [{ type: 'text', text: String(process.pid) }],
}));
await server.connect(new StdioServerTransport());
