/** A kind of product in the generated catalogue. All words are in lower case; titles capitalise them. */
export interface ProductType {
  /** What the shop files its products under, and what a buyer calls one: `query` of the published catalogue. */
  readonly query: string;
  readonly category: 'beauty' | 'electronics' | 'fashion' | 'garden' | 'grocery';
  /** Its place among the shop's categories, from the root on. */
  readonly path: readonly string[];
  /** Properties that its products may have; what instructions ask for. */
  readonly attributes: readonly string[];
  readonly options: Readonly<Record<string, readonly string[]>>;
  /** Lowest and highest price in dollars. */
  readonly prices: readonly [number, number];
}

const COLOURS = ['black', 'white', 'navy', 'red', 'green', 'grey', 'pink', 'yellow', 'purple', 'brown'];
const CLOTHING_SIZES = ['small', 'medium', 'large', 'x-large', 'xx-large'];
const SHOE_SIZES = ['6', '7', '8', '9', '10', '11'];
const PACKS = ['1 count', '2 count', '4 count', '6 count', '12 count'];

function clothing(
  query: string,
  path: readonly string[],
  attributes: readonly string[],
  sizes: readonly string[],
  prices: readonly [number, number],
): ProductType {
  const whole = ['clothing, shoes & jewelry', ...path];
  return { query, category: 'fashion', path: whole, attributes, options: { color: COLOURS, size: sizes }, prices };
}

/** The kinds of products of the shop. */
export const PRODUCT_TYPES: readonly ProductType[] = [
  clothing(
    'hiking jacket',
    ['men', 'jackets & coats'],
    ['machine wash', 'water resistant', 'wind proof', 'fleece lined', 'hand wash', 'light weight'],
    CLOTHING_SIZES,
    [35, 120],
  ),
  clothing(
    'summer dress',
    ['women', 'dresses'],
    ['short sleeve', 'machine wash', 'v neck', 'high waist', 'polyester spandex', 'soft cotton'],
    CLOTHING_SIZES,
    [18, 60],
  ),
  clothing(
    'running shoes',
    ['men', 'shoes'],
    ['rubber sole', 'memory foam', 'non slip', 'breathable mesh', 'arch support', 'lace up'],
    SHOE_SIZES,
    [30, 110],
  ),
  clothing(
    'leather sandals',
    ['women', 'shoes'],
    ['rubber sole', 'open toe', 'ankle strap', 'non slip', 'hand stitched', 'low heel'],
    SHOE_SIZES,
    [20, 85],
  ),
  clothing(
    'yoga leggings',
    ['women', 'active'],
    ['high waist', 'tummy control', 'quick drying', 'machine wash', 'moisture wicking', 'deep pockets'],
    CLOTHING_SIZES,
    [15, 50],
  ),
  clothing(
    'wool sweater',
    ['men', 'sweaters'],
    ['long sleeve', 'hand wash', 'round neck', 'cable knit', 'slim fit', 'itch free'],
    CLOTHING_SIZES,
    [28, 95],
  ),
  {
    query: 'wireless headphones',
    category: 'electronics',
    path: ['electronics', 'headphones', 'over-ear headphones'],
    attributes: ['noise cancelling', 'long battery', 'fast charging', 'hands free', 'foldable design', 'high definition'],
    options: { color: ['black', 'white', 'blue', 'red', 'silver'] },
    prices: [25, 180],
  },
  {
    query: 'phone charger',
    category: 'electronics',
    path: ['electronics', 'accessories', 'chargers & power adapters'],
    attributes: ['fast charging', 'usb port', 'travel size', 'short circuit protection', 'braided cable', 'wall mounted'],
    options: { color: ['black', 'white'], size: ['3 ft', '6 ft', '10 ft'] },
    prices: [8, 45],
  },
  {
    query: 'bluetooth speaker',
    category: 'electronics',
    path: ['electronics', 'portable audio', 'portable speakers'],
    attributes: ['stereo sound', 'water resistant', 'long battery', 'hands free', 'deep bass', 'shock proof'],
    options: { color: ['black', 'blue', 'red', 'green', 'grey'] },
    prices: [20, 140],
  },
  {
    query: 'security camera',
    category: 'electronics',
    path: ['electronics', 'camera & photo', 'video surveillance'],
    attributes: ['motion detection', 'night vision', 'easy install', 'weather proof', 'plug and play', 'high resolution'],
    options: { size: ['1 pack', '2 pack', '4 pack'] },
    prices: [30, 200],
  },
  {
    query: 'tablet case',
    category: 'electronics',
    path: ['electronics', 'accessories', 'tablet accessories'],
    attributes: ['heavy duty', 'case cover', 'magnetic closure', 'shock proof', 'hand strap', 'easy grip'],
    options: { color: ['black', 'navy', 'pink', 'purple', 'grey'], size: ['8 inch', '10 inch', '12 inch'] },
    prices: [12, 48],
  },
  {
    query: 'face moisturizer',
    category: 'beauty',
    path: ['beauty & personal care', 'skin care', 'face'],
    attributes: ['cruelty free', 'paraben free', 'fragrance free', 'hyaluronic acid', 'sensitive skin', 'long lasting'],
    options: { size: ['1 fl oz', '2 fl oz', '4 fl oz'] },
    prices: [9, 60],
  },
  {
    query: 'shampoo bar',
    category: 'beauty',
    path: ['beauty & personal care', 'hair care', 'shampoo'],
    attributes: ['sulfate free', 'natural ingredients', 'essential oils', 'tea tree', 'dry hair', 'plant based'],
    options: { scent: ['lavender', 'citrus', 'cedar', 'coconut'], size: PACKS },
    prices: [7, 38],
  },
  {
    query: 'lip balm',
    category: 'beauty',
    path: ['beauty & personal care', 'skin care', 'lip care'],
    attributes: ['seed oil', 'cruelty free', 'sun protection', 'fragrance free', 'coconut oil', 'dead skin'],
    options: { flavor: ['cherry', 'lime', 'vanilla', 'honey'], size: PACKS },
    prices: [4, 22],
  },
  {
    query: 'makeup brushes',
    category: 'beauty',
    path: ['beauty & personal care', 'tools & accessories', 'makeup brushes'],
    attributes: ['synthetic bristles', 'easy carry', 'eye shadow', 'cruelty free', 'soft bristles', 'bamboo handle'],
    options: { color: ['black', 'pink', 'gold', 'white'], size: ['5 piece', '8 piece', '12 piece'] },
    prices: [10, 55],
  },
  {
    query: 'table lamp',
    category: 'garden',
    path: ['home & kitchen', 'lighting', 'lamps'],
    attributes: ['dimmable light', 'easy assemble', 'solid wood', 'living room', 'touch control', 'energy saving'],
    options: { color: ['black', 'white', 'gold', 'walnut'], size: ['small', 'large'] },
    prices: [22, 130],
  },
  {
    query: 'area rug',
    category: 'garden',
    path: ['home & kitchen', 'decor', 'rugs'],
    attributes: ['machine washable', 'non slip', 'living room', 'stain resistant', 'easy clean', 'low pile'],
    options: { color: ['grey', 'blue', 'ivory', 'green', 'brown'], size: ["3' x 5'", "5' x 7'", "8' x 10'"] },
    prices: [40, 260],
  },
  {
    query: 'storage ottoman',
    category: 'garden',
    path: ['home & kitchen', 'furniture', 'ottomans'],
    attributes: ['faux leather', 'space saving', 'easy assemble', 'high density', 'solid wood', 'button tufted'],
    options: { color: ['black', 'beige', 'brown', 'navy'], size: ['15 inch', '30 inch', '43 inch'] },
    prices: [35, 150],
  },
  {
    query: 'throw blanket',
    category: 'garden',
    path: ['home & kitchen', 'bedding', 'blankets'],
    attributes: ['super soft', 'machine washable', 'fade resistant', 'double sided', 'easy clean', 'light weight'],
    options: { color: COLOURS, size: ['throw', 'twin', 'queen', 'king'] },
    prices: [16, 70],
  },
  {
    query: 'trail mix',
    category: 'grocery',
    path: ['grocery & gourmet food', 'snacks', 'trail mix'],
    attributes: ['gluten free', 'low sodium', 'non gmo', 'protein packed', 'low sugar', 'resealable bag'],
    options: { flavor: ['berry', 'nut', 'tropical', 'chocolate'], size: PACKS },
    prices: [6, 48],
  },
  {
    query: 'herbal tea',
    category: 'grocery',
    path: ['grocery & gourmet food', 'beverages', 'tea'],
    attributes: ['caffeine free', 'certified organic', 'non gmo', 'individually wrapped', 'low calorie', 'kosher certified'],
    options: { flavor: ['chamomile', 'lemon', 'ginger', 'hibiscus'], size: PACKS },
    prices: [5, 42],
  },
  {
    query: 'protein bars',
    category: 'grocery',
    path: ['grocery & gourmet food', 'snacks', 'bars'],
    attributes: ['high protein', 'low carb', 'gluten free', 'keto friendly', 'plant based', 'artificial flavors'],
    options: { flavor: ['peanut butter', 'almond', 'coconut', 'caramel'], size: PACKS },
    prices: [9, 58],
  },
  {
    query: 'olive oil',
    category: 'grocery',
    path: ['grocery & gourmet food', 'pantry staples', 'oils'],
    attributes: ['cold pressed', 'extra virgin', 'certified organic', 'non gmo', 'glass bottle', 'early harvest'],
    options: { size: ['8 fl oz', '16 fl oz', '34 fl oz'] },
    prices: [9, 55],
  },
  {
    query: 'pasta sauce',
    category: 'grocery',
    path: ['grocery & gourmet food', 'pantry staples', 'sauces'],
    attributes: ['no sugar added', 'gluten free', 'dairy free', 'ready to eat', 'family size', 'low sodium'],
    options: { flavor: ['marinara', 'basil', 'garlic', 'arrabbiata'], size: PACKS },
    prices: [5, 40],
  },
];

/** Parts of names of makers, which no maker has. */
export const BRAND_PARTS: readonly [readonly string[], readonly string[]] = [
  ['Al', 'Bri', 'Cor', 'Den', 'El', 'Far', 'Gil', 'Hal', 'Ior', 'Jun', 'Kel', 'Lor', 'Mer', 'Nor', 'Ola', 'Pel', 'Quin', 'Ros'],
  ['ando', 'bury', 'cott', 'dale', 'emi', 'field', 'gate', 'hurst', 'ico', 'kin', 'lume', 'mont', 'nest', 'ova', 'pine', 'wick'],
];

/** Words that titles have besides, and that nobody asks for. */
export const STYLES: readonly string[] = [
  'classic',
  'modern',
  'premium',
  'everyday',
  'compact',
  'signature',
  'essential',
  'urban',
];

/** Nouns that titles end with: uses and audiences. */
export const USES: readonly string[] = [
  'home',
  'office',
  'travel',
  'gift',
  'family',
  'men',
  'women',
  'school',
  'party',
  'holiday',
];

/** What a description says besides the product's properties. */
export const SENTENCES: readonly string[] = [
  'Made to be used every day.',
  'A thoughtful gift for family and friends.',
  'Packed in a recyclable box.',
  'Our team answers questions within a day.',
  'Designed with the help of those who use it.',
  'See the pictures for how it is used.',
];
