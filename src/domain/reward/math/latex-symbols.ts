/**
 * What a command of LaTeX without arguments becomes in plain text, as pylatexenc 2.11 has it; a command that is not here becomes
 * nothing.
 */
export const LATEX_SYMBOLS: ReadonlyMap<string, string> = new Map([
  ...pairsOf([
    'alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ',
    'upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω',
    'infty ∞ cdot · times × div ÷ pm ± mp ∓ leq ≤ le ≤ geq ≥ ge ≥ neq ≠ approx ≈ equiv ≡ sim ∼ cong ≅ propto ∝ in ∈ notin ∉ subset ⊂ subseteq ⊆ supset ⊃',
    'cup ∪ cap ∩ emptyset ∅ varnothing ∅ setminus ∖ to → rightarrow → leftarrow ← Rightarrow ⇒ mapsto ↦ mid | parallel ∥ perp ⊥ angle ∠ circ ∘ bullet ∙ star ⋆',
    "ast ∗ cdots ⋯ ldots … dots … vdots ⋮ prime ' partial ∂ nabla ∇ sum ∑ prod ∏ int ∫ forall ∀ exists ∃ lnot ¬ wedge ∧ vee ∨ langle ⟨ rangle ⟩ lfloor ⌊",
    'rfloor ⌋ lceil ⌈ rceil ⌉ lbrace { rbrace } vert | Vert ‖ backslash \\ ell ℓ hbar ħ square □ blacksquare ▪ therefore ∴ because ∵ oplus ⊕ otimes ⊗ dagger † aleph ℵ',
    'log log ln ln sin sin cos cos tan tan exp exp lim lim max max min min arcsin arcsin arccos arccos arctan arctan sinh sinh cosh cosh tanh tanh sup sup inf inf',
    '{ { } } % % $ $ # # & & _ _ | ‖',
  ]),
  ['\\', '\n'],
  ...[' ', ',', ';', ':'].map((space): [string, string] => [space, ' ']),
  ['quad', '  '],
  ['qquad', '    '],
]);

/** Reads lines of names, each with what it becomes behind it. */
function pairsOf(lines: readonly string[]): [string, string][] {
  const words = lines.flatMap((line) => line.split(' '));
  return words.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, words[i + 1] ?? '']] : []));
}
